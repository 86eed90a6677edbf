import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { openBrowser } from '../../../e2e/support/browser.ts'
import { signInAs } from '../../../e2e/support/people.ts'
import type { Deployer } from '../../../e2e/support/simulated-squid.ts'
import { startShoal, type Shoal } from '../../../e2e/support/shoal.ts'
import { ensureConsole } from '../../console-build.ts'
import { requirePackages } from '../../debian-packages.ts'

export const org = 'bench'

/** A production build of the console on its own server, and a signed-in user whose organization may deploy. */
export type Console = { shoal: Shoal; browser: Browser; context: BrowserContext; page: Page; deployer: Deployer }

/** Starts a console, passes it to `work`, and stops its server and browser when `work` has ended. `env`: settings of the server. */
export async function withConsole<T>(
  env: Record<string, string>,
  work: (console: Console) => AsyncIterable<T>,
): Promise<AsyncIterable<T>> {
  await requirePackages(['chromium'])
  await ensureConsole()
  const shoal = await startShoal(env)
  const browser = await openBrowser()
  const person = await signInAs(browser, shoal, 'bench@example.com')
  await person.api.orgs.create({ body: { code: org, name: 'Bench', email: 'bench@example.com' } })
  await shoal.cli('org', 'set-status', '--code', org, '--status', 'ACTIVE')
  const { context, page, token, api } = person
  return (async function* () {
    try {
      yield* work({ shoal, browser, context, page, deployer: { shoal, org, token, api } })
    } finally {
      await browser.close()
      await shoal.end()
    }
  })()
}

/** Simulates a slow laptop: until the caller detaches the returned session, the page's CPU work takes four times as long. */
export async function slowDown(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 })
  return session
}
