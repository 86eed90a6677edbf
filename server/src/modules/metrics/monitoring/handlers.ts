import { monitoringQueries, type Contract, type MonitoringQuery } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { days } from '../../../clock.ts'
import { notFound } from '../../../errors.ts'
import type { Handlers } from '../../call.ts'
import { rangeOf } from '../range.ts'
import { readSeries } from './read-series.ts'
import { scrapeText } from './scrape-text.ts'

/** Points per series: about as many as a chart can show. */
const defaultPoints = 300
const maxPointsLimit = 1_000

export function monitoringHandlers(app: App): Handlers<Contract['monitoring']> {
  return {
    scrape: ({ org }) => scrapeText(app, org.id),
    query: async ({ params, query, org }) => {
      if (!isQuery(params.query)) throw notFound(`Query ${params.query.slice(0, 50)}`)
      const maxPoints = Math.min(maxPointsLimit, Math.max(1, Number(query.maxPoints ?? defaultPoints)))
      // Spec 9: the default range is the last 24 hours.
      return readSeries(app, org.id, params.query, { range: rangeOf(query, app.clock.now(), days(1)), maxPoints })
    },
  }
}

const isQuery = (text: string): text is MonitoringQuery => monitoringQueries.some((query) => query === text)
