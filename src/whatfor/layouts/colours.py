"""The colours of maps, shared by pictures and the page."""

#: The positions of the colours between zero and the largest number. Small numbers are clearly different from zero.
STOPS = (0.0, 0.04, 0.25, 0.6, 1.0)
#: White is zero. The colours differ in lightness as well as in hue, so that they work for colour-blind readers.
COLOURS = {
    "yellow": ("#ffffff", "#fff4cc", "#ffe07a", "#f2a900", "#b36b00"),
    "green": ("#ffffff", "#dff3e8", "#a3dabb", "#2a9d6f", "#0b4f37"),
    "blue": ("#ffffff", "#dcebf6", "#9ac7e4", "#3a87c0", "#08306b"),
}
#: Signed numbers: from the lowest to the highest, with zero in the middle.
SIGNED = ("#7f3b08", "#e08214", "#fdc980", "#ffffff", "#c5c2e0", "#8073ac", "#2d004b")
#: Numbers below this share of the largest are drawn as zero.
MIN_VISIBLE_SHARE = 5e-3
