import { launch } from 'chrome-launcher'
import lighthouse, { type Config, type Flags, type Result as Report } from 'lighthouse'
import { chromium } from 'playwright-core'
import { type Result, atLeast, atMost, median } from '../../bench/support/result.ts'
import { findBrowser } from '../../browser.ts'

const rounds = 5
const chromeFlags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run']

/** Fills the local storage of a new profile, on a page without scripts, so that the browser's cache stays empty. */
async function store(port: number, url: string, stored: Record<string, string>): Promise<void> {
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`)
  try {
    const page = await browser.contexts()[0]?.newPage()
    await page?.goto(new URL('/favicon.svg', url).href)
    for (const [name, value] of Object.entries(stored))
      await page?.evaluate(`localStorage.setItem(${JSON.stringify(name)}, ${JSON.stringify(value)})`)
    await page?.close()
  } finally {
    await browser.close()
  }
}

async function auditOnce(
  url: string,
  config?: Config,
  flags: Flags = {},
  stored: Record<string, string> = {},
): Promise<Report> {
  const chrome = await launch({ chromePath: findBrowser() ?? '', chromeFlags })
  try {
    const isStored = Object.keys(stored).length > 0
    if (isStored) await store(chrome.port, url, stored)
    const allFlags: Flags = { port: chrome.port, logLevel: 'error', disableStorageReset: isStored, ...flags }
    const run = await lighthouse(url, allFlags, config)
    if (!run) throw new Error('Lighthouse returned no report')
    return run.lhr
  } finally {
    chrome.kill()
  }
}

/**
 * The speed of the machines on which a CPU slowed 4 times, Lighthouse's default, simulates a mid-tier phone: the middle of the range
 * 1,500 to 2,000 in Lighthouse's own documentation (docs/throttling.md), which recommends calibration on other machines.
 */
const referenceIndex = 1750

/** Returns settings with which Lighthouse simulates the same phone on a slow machine as on a fast one. Prints what it measured. */
export async function calibrate(url: string): Promise<Flags> {
  const indexes: number[] = []
  for (let round = 0; round < 3; round++)
    indexes.push((await auditOnce(url, undefined, { onlyAudits: ['redirects'] })).environment.benchmarkIndex)
  const index = median(indexes)
  const cpuSlowdownMultiplier = Math.max(1, (4 * index) / referenceIndex)
  console.error(`Lighthouse's benchmark index is ${index}: the CPU is slowed ${cpuSlowdownMultiplier.toFixed(1)} times`)
  return { throttling: { cpuSlowdownMultiplier } }
}

/** Runs Lighthouse several times, each time with a new browser profile whose local storage has the values of `stored`. */
export async function audit(
  url: string,
  config?: Config,
  flags: Flags = {},
  stored: Record<string, string> = {},
): Promise<Report[]> {
  const reports: Report[] = []
  for (let round = 0; round < rounds; round++) reports.push(await auditOnce(url, config, flags, stored))
  return reports
}

const score = (reports: Report[], category: string): number =>
  median(reports.map(({ categories }) => (categories[category]?.score ?? 0) * 100))

/** Returns the median of an audit's numeric value. */
export const auditValue = (reports: Report[], id: string): number =>
  median(reports.map(({ audits }) => audits[id]?.numericValue ?? 0))

/** Compares the scores and the layout shift of a page with their targets. `settings`: `mobile` or `desktop`. */
export function* judgeReports(
  page: string,
  settings: string,
  reports: Report[],
  minPerformance: number,
): Iterable<Result> {
  yield atLeast(minPerformance, `${page}, Lighthouse performance, ${settings}`, score(reports, 'performance'), 'points')
  yield atLeast(100, `${page}, accessibility, ${settings}`, score(reports, 'accessibility'), 'points')
  yield atLeast(100, `${page}, best practices, ${settings}`, score(reports, 'best-practices'), 'points')
  yield atMost(0.01, `${page}, layout shift, ${settings}`, auditValue(reports, 'cumulative-layout-shift'), 'CLS')
}
