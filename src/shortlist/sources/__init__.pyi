from .corpus_source import OF_TOOLS as OF_TOOLS
from .corpus_source import SOURCES as SOURCES
from .corpus_source import CorpusSource as CorpusSource
from .folder import fingerprint as fingerprint
from .in_memory import documents_of as documents_of
from .skills import SKILL_FILE as SKILL_FILE
from .tools.tool_catalogs import describes_tools as describes_tools
