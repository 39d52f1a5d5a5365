"""How does an agent framework search with us? An adapter a module, none loaded before it is used."""
