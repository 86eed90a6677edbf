// Calendar functions for billing, in UTC.

import { monthOf } from '../../clock.ts'

export const msPerHour = 3_600_000

/** The start of the hour. */
export const hourOfMs = (atMs: number): number => Math.floor(atMs / msPerHour) * msPerHour

export const monthStartMs = (month: string): number => Date.parse(`${month}-01T00:00:00Z`)

/** The next month as `yyyy-MM`. */
export function monthAfter(month: string): string {
  const start = new Date(monthStartMs(month))
  return monthOf(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1))
}

export const monthEndMs = (month: string): number => monthStartMs(monthAfter(month))
