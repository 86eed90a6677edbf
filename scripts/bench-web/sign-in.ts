import { desktopConfig, type Result as Report } from 'lighthouse'
import { startShoal } from '../../e2e/support/shoal.ts'
import { type Bench, atMost, median } from '../bench/support/result.ts'
import { requirePackages } from '../debian-packages.ts'
import { ensureConsole } from '../console-build.ts'
import { audit, auditValue, calibrate, judgeReports } from './support/lighthouse.ts'

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

export const bench: Bench = {
  name: 'sign-in',
  async *run() {
    await requirePackages(['chromium'])
    await ensureConsole()
    const shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
    try {
      const mobile = await audit(shoal.url, undefined, await calibrate(shoal.url))
      yield* judgeReports('sign-in', 'mobile', mobile, 95)
      yield atMost(150, 'sign-in, blocking time, mobile', auditValue(mobile, 'total-blocking-time'), 'ms')
      yield atMost(130, 'sign-in, scripts and styles', median(await Promise.all(mobile.map(codeSizeKb))), 'KB')
      yield atMost(8, 'sign-in, requests', median(mobile.map((report) => requestsOf(report).length)), 'requests')
      yield* judgeReports('sign-in', 'desktop', await audit(shoal.url, desktopConfig), 99)
    } finally {
      await shoal.end()
    }
  },
}
