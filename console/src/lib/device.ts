// The order matters, because many user agents also contain names of browsers that are later in this list.
const browsers: [name: string, pattern: RegExp][] = [
  ['Edge', /Edg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /Version\/(\d+).*Safari/],
]

const systems: [name: string, pattern: RegExp][] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['macOS', /Mac OS X/],
  ['Windows', /Windows/],
  ['Linux', /Linux/],
]

/** Describes a browser as `Firefox 140 on Linux`. Returns the whole user agent if it contains no known browser. */
export function deviceOf(userAgent: string | null): string {
  if (!userAgent) return 'Unknown device'
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0]
  for (const [name, pattern] of browsers) {
    const version = pattern.exec(userAgent)?.[1]
    if (version) return [`${name} ${version}`, ...(system ? [system] : [])].join(' on ')
  }
  return userAgent
}
