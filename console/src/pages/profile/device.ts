// The order matters: many user agents also contain the names below theirs.
const browsers: [name: string, mark: RegExp][] = [
  ['Edge', /Edg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /Version\/(\d+).*Safari/],
]

const systems: [name: string, mark: RegExp][] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['macOS', /Mac OS X/],
  ['Windows', /Windows/],
  ['Linux', /Linux/],
]

/** `Firefox 140 on Linux`, from a user agent; the user agent itself if it is no browser. */
export function deviceOf(userAgent: string | null): string {
  if (!userAgent) return 'Unknown device'
  const system = systems.find(([, mark]) => mark.test(userAgent))?.[0]
  for (const [name, mark] of browsers) {
    const version = mark.exec(userAgent)?.[1]
    if (version) return [`${name} ${version}`, ...(system ? [system] : [])].join(' on ')
  }
  return userAgent
}
