"""The model's side of the socket: forged sensor data in, controls out.

Standard library and NumPy, Python 3.10 or newer, and nothing of this project but
`sysone.drive.gps`: ``sysone drive agent-kit`` copies these files into a model's own environment.
The compiled frames are used where they are installed.
"""
