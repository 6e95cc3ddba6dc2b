"""An exchange's files carried by Flower: the learner's questions to owners' mailboxes, their answers back into its folder.

Flower is a mover here and nothing else. At an owner it runs code that the learner sent; so what it runs there only puts
questions into a folder and fetches answers out of it, and the owner's own ``dpmarket answer --follow``, a program of another
user, reads the records, draws the noise and keeps the ledger.
"""
