"""Real code with one device taken away: how much of that does devlint notice?"""
