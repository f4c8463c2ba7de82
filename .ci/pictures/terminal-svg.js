/** Draws a screen of a terminal, as `tmux capture-pane -e -p` prints it, as SVG. */

const COLUMN = 8.4;
const ROW = 20;
const PADDING = 16;
const TITLE_BAR = 36;
const FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";
const BACKGROUND = '#16181d';
const FOREGROUND = '#d8dce4';

/** By the last digit of a color in the SGR sequence; 90 to 97 are the bright ones. */
const COLORS = ['#6b7280', '#f07178', '#8fcf7f', '#e6c171', '#7aa7f7', '#c792ea', '#6fc7d9', '#d8dce4'];

function applySgr(style, parameters) {
  let next = style;
  for (const code of parameters.split(';').map(Number)) {
    if (code === 0) next = {};
    else if (code === 1) next = { ...next, bold: true };
    else if (code === 2) next = { ...next, dim: true };
    else if (code === 3) next = { ...next, italic: true };
    else if (code === 4) next = { ...next, underlined: true };
    else if (code === 22) next = { ...next, bold: false, dim: false };
    else if (code === 23) next = { ...next, italic: false };
    else if (code === 24) next = { ...next, underlined: false };
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) next = { ...next, color: COLORS[code % 10] };
    else if (code === 39) next = { ...next, color: undefined };
    else if (code !== 49) throw new Error(`The picture cannot show the style ${code}.`);
  }
  return next;
}

/** Splits the lines of a screen into pieces of one style. A style goes on from line to line. */
function parseScreen(screen) {
  let style = {};
  return screen.split('\n').map((line) => {
    const pieces = [];
    let column = 0;
    for (const [, sequence, text] of line.matchAll(/\x1b\[([\d;]*)m|([^\x1b]+)/g)) {
      if (text === undefined) {
        style = applySgr(style, sequence);
        continue;
      }
      // Runs of blanks part a text, so that each part stands in its column whatever the font.
      for (const { 0: word, index } of text.matchAll(/\S+(?: \S+)*/g)) pieces.push({ text: word, column: column + index, style });
      column += text.length;
    }
    return pieces;
  });
}

function escapeXml(text) {
  return text.replace(/[&<>"]/g, (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[character]);
}

function drawPiece({ text, column, style }, row) {
  const x = (PADDING + column * COLUMN).toFixed(1);
  const y = TITLE_BAR + PADDING + row * ROW + 14;
  const attributes = [
    `x="${x}" y="${y}" textLength="${(text.length * COLUMN).toFixed(1)}"`,
    style.color && `fill="${style.color}"`,
    style.bold && 'font-weight="700"',
    style.dim && 'opacity="0.6"',
    style.italic && 'font-style="italic"',
    style.underlined && 'text-decoration="underline"',
  ].filter(Boolean);
  return `  <text ${attributes.join(' ')}>${escapeXml(text)}</text>`;
}

/**
 * @param screen the lines of a terminal with their styles
 * @param columns the width of the terminal
 * @param title what a screen reader says in place of the picture
 */
export function drawTerminal(screen, columns, title) {
  const lines = parseScreen(screen.replace(/\s+$/, ''));
  const width = Math.ceil(2 * PADDING + columns * COLUMN);
  const height = TITLE_BAR + 2 * PADDING + lines.length * ROW;
  const buttons = ['#f07178', '#e6c171', '#8fcf7f'].map(
    (fill, index) => `  <circle cx="${20 + index * 20}" cy="${TITLE_BAR / 2}" r="6" fill="${fill}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="${FONTS}" font-size="14" fill="${FOREGROUND}">`,
    `  <title>${escapeXml(title)}</title>`,
    `  <rect width="${width}" height="${height}" rx="10" fill="${BACKGROUND}"/>`,
    ...buttons,
    ...lines.flatMap((pieces, row) => pieces.map((piece) => drawPiece(piece, row))),
    '</svg>',
    '',
  ].join('\n');
}
