"""OpenDRIVE texts of one road each, written for these tests: every shape, width, offset, height."""

LINE = '<geometry s="0" x="0" y="0" hdg="0.3" length="60"><line/></geometry>'
TURNING = (
    '<geometry s="0" x="0" y="0" hdg="0" length="25.5"><line/></geometry>'
    '<geometry s="25.5" x="25.5" y="0" hdg="0" length="34.5"><arc curvature="0.03"/></geometry>'
)
# a taper and its way back; 3.66 = 3.0 + 0.01 x 30 + 0.0004 x 30²
TAPER = (
    '<width sOffset="0" a="3.0" b="0.01" c="0.0004" d="0"/>'
    '<width sOffset="30" a="3.66" b="-0.02" c="0" d="0"/>'
)
STEADY = '<width sOffset="0" a="3.5" b="0" c="0" d="0"/>'
HILL = (
    '<elevation s="0" a="1" b="0.05" c="0.001" d="0"/>'
    '<elevation s="30" a="3.4" b="0.11" c="0" d="0"/>'
)
SHIFT = (
    '<laneOffset s="0" a="0.5" b="0.02" c="0.0005" d="0"/>'
    '<laneOffset s="30" a="1.55" b="0.05" c="0" d="0"/>'
)
PARAM_POLY_M = 54.586609446884374
"""Length of the curve of `param_poly`."""


def road(geometry: str, width: str = STEADY, elevation: str = "", shift: str = "") -> str:
    """One road of 60 m (or as long as its geometry) with lanes 1, -1 and -2."""
    lanes = "".join(
        f"<{side}>{''.join(_lane(number, width) for number in numbers)}</{side}>"
        for side, numbers in (("left", (1,)), ("center", (0,)), ("right", (-1, -2)))
    )
    length = PARAM_POLY_M if "paramPoly3" in geometry and "normalized" in geometry else 60
    return (
        '<?xml version="1.0"?><OpenDRIVE><header revMajor="1" revMinor="4" name="t" version="1">'
        "<geoReference><![CDATA[+proj=tmerc +lat_0=49 +lon_0=8]]></geoReference></header>"
        f'<road name="r" length="{length}" id="1" junction="-1"><type s="0" type="town">'
        f'<speed max="50" unit="km/h"/></type><planView>{geometry}</planView>'
        f"<elevationProfile>{elevation}</elevationProfile><lateralProfile/>"
        f'<lanes>{shift}<laneSection s="0">{lanes}</laneSection></lanes></road></OpenDRIVE>'
    )


def sections(geometry: str) -> str:
    """One road in three sections; in the middle one lane -2 opens from nothing."""
    opening = '<width sOffset="0" a="0" b="0" c="0.0525" d="-0.00175"/>'
    parts = []
    for s, width in ((0, ""), (20, opening), (40, STEADY)):
        before, after = ("" if s == 0 else "1"), ("" if s == 40 else "1")
        left = _linked(1, STEADY, before, after)
        right = _linked(-1, STEADY, before and "-1", after and "-1")
        if width:
            right += _linked(-2, width, "-2" if s == 40 else "", "-2" if s == 20 else "")
        parts.append(
            f'<laneSection s="{s}"><left>{left}</left><center>{_lane(0, "")}</center>'
            f"<right>{right}</right></laneSection>"
        )
    text = road(geometry)
    return text[: text.index("<laneSection")] + "".join(parts) + text[text.index("</lanes>") :]


def _linked(number: int, width: str, before: str, after: str) -> str:
    links = f'<predecessor id="{before}"/>' if before else ""
    links += f'<successor id="{after}"/>' if after else ""
    return f'<lane id="{number}" type="driving" level="false"><link>{links}</link>{width}</lane>'


def _lane(number: int, width: str) -> str:
    kind = "driving" if number else "none"
    return f'<lane id="{number}" type="{kind}" level="false">{width if number else ""}</lane>'


def _shape(text: str, length: float = 60) -> str:
    return f'<geometry s="0" x="1" y="2" hdg="0.3" length="{length}">{text}</geometry>'


MAPS = {
    "line": road(LINE),
    "line and arc": road(TURNING),
    "spiral": road(_shape('<spiral curvStart="0.0" curvEnd="0.03"/>')),
    "spiral through an inflection": road(_shape('<spiral curvStart="0.02" curvEnd="-0.01"/>')),
    "spiral to the right": road(_shape('<spiral curvStart="-0.02" curvEnd="-0.03"/>')),
    "poly3": road(_shape('<poly3 a="0" b="0.05" c="0.004" d="-0.00003"/>')),
    "paramPoly3, normalised": road(
        _shape(
            '<paramPoly3 aU="0" bU="55" cU="0" dU="-2" aV="0" bV="0" cV="20" dV="-8" '
            'pRange="normalized"/>',
            PARAM_POLY_M,
        )
    ),
    "paramPoly3, by length": road(
        _shape(
            '<paramPoly3 aU="0" bU="1" cU="0" dU="-0.00001" aV="0" bV="0" cV="0.006" '
            'dV="-0.00004" pRange="arcLength"/>'
        )
    ),
    "widths": road(LINE, TAPER),
    "widths in a turn": road(TURNING, TAPER),
    "offsets": road(LINE, STEADY, "", SHIFT),
    "heights": road(LINE, STEADY, HILL),
    "everything": road(_shape('<spiral curvStart="0.0" curvEnd="0.03"/>'), TAPER, HILL, SHIFT),
}
"""By what is in them."""
