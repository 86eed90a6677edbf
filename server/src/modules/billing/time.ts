// Calendar functions for billing, in UTC.

import { monthOf } from '../../clock.ts'

export const msPerHour = 3_600_000

/** Returns the start of the hour that contains `atMs`. */
export const hourStartMs = (atMs: number): number => Math.floor(atMs / msPerHour) * msPerHour

/** Returns the time when a month (`yyyy-MM`) begins. */
export const monthStartMs = (month: string): number => Date.parse(`${month}-01T00:00:00Z`)

/** Returns the month after `month`, both as `yyyy-MM`. */
export function monthAfter(month: string): string {
  const start = new Date(monthStartMs(month))
  return monthOf(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1))
}

/** Returns the time when the month after `month` begins. */
export const monthEndMs = (month: string): number => monthStartMs(monthAfter(month))
