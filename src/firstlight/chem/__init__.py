"""Systems for chemistry; what several of them share stands here."""
