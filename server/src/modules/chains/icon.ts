import { createHash } from 'node:crypto'

/**
 * Returns the path of a network's icon, without a host name, so that browsers load it from the origin of the console. Icons are
 * generated from the title, because the logos of networks are trademarks with many licences.
 */
export const iconPathOf = (title: string): string => `/api/v1/icons/${encodeURIComponent(title)}`

/**
 * Returns a 32 px square SVG with the title's initials. Its colour depends on the first word, so that related networks have the
 * same colour.
 */
export function iconOf(title: string): string {
  const words = title.match(/[A-Za-z0-9]+/g) ?? ['?']
  const [first = '?', second] = words
  const letters = second ? `${first.charAt(0)}${second.charAt(0)}`.toUpperCase() : first.slice(0, 2)
  const hash = createHash('sha256').update(first.toLowerCase()).digest()
  const hue = Math.round((hash.readUInt16BE(0) / 0xffff) * 360)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 32 32"><rect width="32" height="32" fill="hsl(${hue} 45% 38%)"/><path d="M0 32 32 ${hash.readUInt8(2) % 32}V32Z" fill="hsl(${hue} 45% 30%)"/><text x="16" y="16.5" dominant-baseline="central" text-anchor="middle" font-family="system-ui,sans-serif" font-size="13" font-weight="600" fill="#fff">${letters}</text></svg>`
}
