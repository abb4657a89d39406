"""terminal_svg.py TITLE < SCREEN > PICTURE: what `tmux capture-pane -e -p` wrote, as an SVG with its colours."""

import re
import sys
from html import escape

CELL, LINE, MARGIN = 8.4, 18, 14
INK, PAPER = "#d8dee9", "#1b2028"
COLOURS = [
    "#3b4252", "#e06c75", "#98c379", "#e5c07b", "#6cb0f0", "#c58af0", "#56c2c8", "#d8dee9",
    "#7a8496", "#f08a92", "#b4dc98", "#f2d399", "#92c8f8", "#d8acf8", "#80d8dc", "#ffffff",
]  # fmt: skip
SEQUENCE = re.compile(r"\x1b\[([0-9;]*)m")


def main():
    rows = sys.stdin.read().rstrip("\n").split("\n")
    style, drawn, width = {}, [], 0
    for number, row in enumerate(rows):
        column = 0
        pieces = SEQUENCE.split(row)
        for index, piece in enumerate(pieces):
            if index % 2:
                style = changed(style, [int(code or 0) for code in piece.split(";")])
            else:
                drawn.append(cells(piece, column, number, style))
                column += len(piece)
        width = max(width, column)
    title = escape(sys.argv[1])
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * CELL + 2 * MARGIN:.0f} {len(rows) * LINE + 2 * MARGIN}"'
        f' role="img" aria-label="{title}"><title>{title}</title>'
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>'
        f'<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="14">'
    )
    print("\n".join(piece for piece in drawn if piece))
    print("</g></svg>")


def changed(style, codes):
    """The style after these codes of SGR; the terminal's other ones change nothing that is drawn."""
    style, codes = dict(style), list(codes)
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code in (1, 2, 7):
            style[code] = True
        elif code in (22, 27):
            for off in (1, 2) if code == 22 else (7,):
                style.pop(off, None)
        elif code in (38, 48) and codes[:1] == [5]:
            style["ink" if code == 38 else "paper"] = of_256(codes[1])
            codes = codes[2:]
        elif code in (38, 48) and codes[:1] == [2]:
            style["ink" if code == 38 else "paper"] = "#%02x%02x%02x" % tuple(codes[1:4])
            codes = codes[4:]
        elif code in (39, 49):
            style.pop("ink" if code == 39 else "paper", None)
        else:
            for first, what, bright in ((30, "ink", 0), (40, "paper", 0), (90, "ink", 8), (100, "paper", 8)):
                if first <= code < first + 8:
                    style[what] = COLOURS[code - first + bright]
    return style


def of_256(number):
    if number < 16:
        return COLOURS[number]
    if number >= 232:
        return "#" + "%02x" % (8 + 10 * (number - 232)) * 3
    levels = [0, 95, 135, 175, 215, 255]
    number -= 16
    return "#%02x%02x%02x" % (levels[number // 36], levels[number // 6 % 6], levels[number % 6])


def cells(text, column, row, style):
    """Text in one style, word by word, each with its place and width: spaces are not kept, and fonts have other proportions."""
    ink, paper = style.get("ink", INK), style.get("paper", PAPER)
    if 7 in style:
        ink, paper = paper, ink
    x, y, width = MARGIN + column * CELL, MARGIN + row * LINE, len(text) * CELL
    drawn = ""
    if paper != PAPER:
        drawn = f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LINE}" fill="{paper}"/>'
    look = (' font-weight="bold"' if 1 in style else "") + (' opacity="0.65"' if 2 in style else "")
    for word in re.finditer(r"\S+", text):
        drawn += (
            f'<text x="{x + word.start() * CELL:.1f}" y="{y + 13.5}" textLength="{len(word[0]) * CELL:.1f}"'
            f' lengthAdjust="spacingAndGlyphs" fill="{ink}"{look}>{escape(word[0])}</text>'
        )
    return drawn


main()
