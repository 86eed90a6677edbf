import { launch } from 'chrome-launcher'
import lighthouse, { desktopConfig, type Config, type Result as Report } from 'lighthouse'
import { startShoal } from '../../e2e/support/shoal.ts'
import { type Bench, type Result, atLeast, atMost, median } from '../bench/support/result.ts'
import { findBrowser } from '../browser.ts'
import { requirePackages } from '../debian-packages.ts'
import { ensureConsole } from '../console-build.ts'

const rounds = 5
const chromeFlags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run']

/** Runs Lighthouse several times, each time with a new browser profile. */
async function audit(url: string, config: Config | undefined): Promise<Report[]> {
  const reports: Report[] = []
  for (let round = 0; round < rounds; round++) {
    const chrome = await launch({ chromePath: findBrowser() ?? '', chromeFlags })
    try {
      const run = await lighthouse(url, { port: chrome.port, logLevel: 'error' }, config)
      if (!run) throw new Error('Lighthouse returned no report')
      reports.push(run.lhr)
    } finally {
      chrome.kill()
    }
  }
  return reports
}

const score = (reports: Report[], category: string): number =>
  median(reports.map(({ categories }) => (categories[category]?.score ?? 0) * 100))
const auditValue = (reports: Report[], id: string): number =>
  median(reports.map(({ audits }) => audits[id]?.numericValue ?? 0))

type Request = { resourceType?: string; url: string }

function requestsOf({ audits }: Report): Request[] {
  const details = audits['network-requests']?.details
  const items = details?.type === 'table' ? (details.items as unknown as Request[]) : []
  return items.filter(({ url }) => url.startsWith('http'))
}

/** Returns the size of the compressed scripts and styles, without headers, which depend on the proxy in front of the server. */
async function codeSizeKb(report: Report): Promise<number> {
  const code = requestsOf(report).filter(
    ({ resourceType }) => resourceType === 'Script' || resourceType === 'Stylesheet',
  )
  const bytes = await Promise.all(
    code.map(async ({ url }) => {
      const response = await fetch(url, { headers: { 'accept-encoding': 'br' } })
      await response.arrayBuffer()
      return Number(response.headers.get('content-length'))
    }),
  )
  return bytes.reduce((sum, size) => sum + size / 1024, 0)
}

function* judgeReports(name: string, reports: Report[], minPerformance: number): Iterable<Result> {
  yield atLeast(minPerformance, `sign-in, Lighthouse performance, ${name}`, score(reports, 'performance'), 'points')
  yield atLeast(100, `sign-in, accessibility, ${name}`, score(reports, 'accessibility'), 'points')
  yield atLeast(100, `sign-in, best practices, ${name}`, score(reports, 'best-practices'), 'points')
  yield atMost(0.01, `sign-in, layout shift, ${name}`, auditValue(reports, 'cumulative-layout-shift'), 'CLS')
}

export const bench: Bench = {
  name: 'sign-in',
  async *run() {
    await requirePackages(['chromium'])
    await ensureConsole()
    const shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
    try {
      const mobile = await audit(shoal.url, undefined)
      yield* judgeReports('mobile', mobile, 95)
      yield atMost(150, 'sign-in, blocking time, mobile', auditValue(mobile, 'total-blocking-time'), 'ms')
      yield atMost(130, 'sign-in, scripts and styles', median(await Promise.all(mobile.map(codeSizeKb))), 'KB')
      yield atMost(8, 'sign-in, requests', median(mobile.map((report) => requestsOf(report).length)), 'requests')
      yield* judgeReports('desktop', await audit(shoal.url, desktopConfig), 99)
    } finally {
      await shoal.end()
    }
  },
}
