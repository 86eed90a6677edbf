/** Calendar for billing, in UTC. */

export const msPerHour = 3_600_000

/** `yyyy-MM` */
export const monthOfMs = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7)

/** `yyyy-MM-dd` */
export const dayOfMs = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)

/** Start of the hour. */
export const hourOfMs = (atMs: number): number => Math.floor(atMs / msPerHour) * msPerHour

export const monthStartMs = (month: string): number => Date.parse(`${month}-01T00:00:00Z`)

/** `yyyy-MM` of the next month. */
export function monthAfter(month: string): string {
  const start = new Date(monthStartMs(month))
  return monthOfMs(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1))
}

export const monthEndMs = (month: string): number => monthStartMs(monthAfter(month))
