"""What people look at: plans as text, tables, pictures, cards in notebooks, and pages."""
