"""What each lesson shows: exhibits, figures and sentences made from what the core computed."""
