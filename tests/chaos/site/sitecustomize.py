"""For the programs under test: an editable install is not looked at again for changed sources.

That would need processes, descriptors and files of its own.
"""

import sys

for finder in sys.meta_path:
    if hasattr(finder, "rebuild_flag"):
        finder.rebuild_flag = False
