"""The colours of maps, for every way of drawing them: pictures and the page."""

#: Where the colours lie between nothing and the largest number: small numbers can be told from none.
STOPS = (0.0, 0.04, 0.25, 0.6, 1.0)
#: White is nothing. Apart in lightness as well as in hue, so that nobody needs to tell red from green.
COLOURS = {
    "yellow": ("#ffffff", "#fff4cc", "#ffe07a", "#f2a900", "#b36b00"),
    "green": ("#ffffff", "#dff3e8", "#a3dabb", "#2a9d6f", "#0b4f37"),
    "blue": ("#ffffff", "#dcebf6", "#9ac7e4", "#3a87c0", "#08306b"),
}
#: From the lowest number to the highest, zero in the middle.
SIGNED = ("#7f3b08", "#e08214", "#fdc980", "#ffffff", "#c5c2e0", "#8073ac", "#2d004b")
#: Numbers below this share of the largest are drawn as none.
MIN_VISIBLE_SHARE = 5e-3
