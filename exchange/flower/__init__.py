"""An exchange's files carried by Flower: questions to owners' mailboxes, answers back.

Flower only moves files here. At an owner it runs code that the learner sent; so that code only puts
questions into a folder and fetches answers out of it, and the owner's own ``dpmarket answer
--follow``, a program of another user, reads the records, draws the noise and keeps the ledger.
"""
