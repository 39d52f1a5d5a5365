from .service_engine import connect as connect
