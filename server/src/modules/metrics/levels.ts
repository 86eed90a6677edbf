import type { TimeGroup } from '@shoal/contract'
import type { App } from '../../app.ts'
import type { Config } from '../../config/config.ts'
import { dayOf, days, hours, minutes } from '../../clock.ts'

/**
 * Resolutions from fine to coarse. Each level except the first of its family is computed from the previous one. Samples
 * (every 15 seconds), minutes and hours are partitioned by day, so that expired days can be dropped cheaply.
 */
export type Level = 'samples' | 'minutes' | 'hours' | 'days' | 'months'

/** `container`: resource usage, and the progress of processors. `ingress`: requests, as counted by gateways. */
export type Family = 'container' | 'ingress'

/** Returns the name of the table of a family at a level. */
export const tableOf = (family: Family, level: Level): string => `${family}_${level}`

/** The roll-ups of each family, from fine to coarse: the level `to` is computed from the level `from` by `unit` of time. */
export const coarserLevels = {
  container: [
    { from: 'samples', to: 'minutes', unit: 'minute' },
    { from: 'minutes', to: 'hours', unit: 'hour' },
    { from: 'hours', to: 'days', unit: 'day' },
    { from: 'days', to: 'months', unit: 'month' },
  ],
  ingress: [
    { from: 'minutes', to: 'hours', unit: 'hour' },
    { from: 'hours', to: 'days', unit: 'day' },
    { from: 'days', to: 'months', unit: 'month' },
  ],
} as const satisfies Record<Family, { from: Level; to: Level; unit: string }[]>

/** The level that a chart with this bucket size is read from. */
export const levelOfGroup: Record<TimeGroup, Level> = { Minute: 'minutes', Hour: 'hours', Day: 'days', Month: 'months' }

/** Returns the number of days for which a level is kept. */
export function retentionDays(config: Config, level: Level): number {
  return {
    samples: config.SHOAL_METRICS_SAMPLE_DAYS,
    minutes: config.SHOAL_METRICS_MINUTE_DAYS,
    hours: config.SHOAL_METRICS_HOUR_DAYS,
    days: config.SHOAL_METRICS_DAY_DAYS,
    months: config.SHOAL_METRICS_MONTH_DAYS,
  }[level]
}

/** Returns whether a level still has the data of a time, in milliseconds since 1970. */
export type RetentionCheck = (level: Level, atMs: number) => boolean

/** Creates a function that checks the retention of the settings at the current time. */
export const createRetentionCheck =
  ({ clock, config }: Pick<App, 'clock' | 'config'>): RetentionCheck =>
  (level, atMs) =>
    atMs >= Date.parse(dayOf(clock.now().getTime() - days(retentionDays(config, level))))

/** The length of a bucket of each level in milliseconds, except months. */
export const levelMs = { samples: 15_000, minutes: minutes(1), hours: hours(1), days: days(1) }
