"""What stands before every action: the guard, the inbox of questions to people, standing grants, the audit trail."""
