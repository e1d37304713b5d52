// What an attacker would write: it has to be shown as it is, and to do nothing.

export const HOSTILE = [
  '<script>window.pwned=1</script>',
  '<img src=x onerror="window.pwned=1">',
  '<svg onload=window.pwned=1>',
  '"><iframe srcdoc="<script>parent.pwned=1</script>">',
  "javascript:window.pwned=1",
  '<a href="javascript:window.pwned=1">click</a>',
  '{{constructor.constructor("window.pwned=1")()}}',
  '<style>*{display:none}</style>',
  '\u202Egnp.exe <b onmouseover=pwned=1>',
  ']]><!--<math><mtext></mtext><script>pwned=1</script>',
];

/// What may not stand in the page, whatever was said.
export const FORBIDDEN = 'body script:not([src]), main script, main img, main iframe, main object, main embed, main style, main link, main [onerror], main [onload], main [onclick], main [onmouseover], a[href^="javascript" i], a[href^="data" i], main [srcdoc]';
