import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { newUser, openBrowser, switchTheme } from '../../e2e/support/browser.ts'
import { deploy, waitForDeployment } from '../../e2e/support/deploy.ts'
import { adminPassword } from '../../e2e/support/org.ts'
import { totalTransfers } from '../../e2e/support/squid.ts'
import { startTestCloud, type TestCloud } from '../../e2e/support/test-cloud.ts'
import { until } from '../../e2e/support/until.ts'
import { withProgress } from '../progress.ts'
import { root } from '../root.ts'

/** The pictures of the documentation. Each exists in both themes. */
export const picturesFolder = join(root, 'site/pages/pictures')
export const pictureThemes = ['light', 'dark'] as const
/** The size of all pictures in pixels; the pages name it, so that they do not move while pictures load. */
export const pictureSize = { width: 1280, height: 800 } as const
const quality = 80

type Picture = { name: string; path: string; /** A text that is visible when the page is complete. */ shows: RegExp }

const picturesOf = (deployment: number): Picture[] => {
  const version = '/squids/erc20-transfers/v1'
  return [
    { name: 'version', path: version, shows: /Synced|100/ },
    { name: 'logs', path: `${version}/logs`, shows: /last block|sqd:processor|processing/ },
    { name: 'playground', path: `${version}/playground`, shows: /GraphiQL|query/i },
    { name: 'deployment', path: `${version}/deployments/${deployment}`, shows: /IMAGE_BUILDING|Building|Build/ },
    { name: 'alert-rules', path: '/monitoring/alerts/rules', shows: /Crash loop/ },
  ]
}

/** Takes all pictures of the documentation: from an installation that runs the example squid on its own chain. */
export async function takeDocumentationPictures(): Promise<void> {
  const cloud = await withProgress('Starting Shoal and a chain', () => startTestCloud())
  const browser = await openBrowser()
  try {
    const deployment = await withProgress('Deploying the example', () => deployExample(cloud))
    const { shoal, org } = cloud
    const { token } = await shoal.as('').auth.signIn({ body: { email: `admin@${org}.dev`, password: adminPassword } })
    const onboardingForm = { occupation: 'Analyst', source: 'Google', usage: 'DeFi' }
    await shoal.as(token).user.completeOnboarding({ body: { policyAccepted: true, onboardingForm } })
    const context = await newUser(browser, shoal, { user_token: token, tmp_invites_checked: 'true' })
    const page = await context.newPage()
    await page.setViewportSize(pictureSize)
    rmSync(picturesFolder, { recursive: true, force: true })
    mkdirSync(picturesFolder, { recursive: true })
    for (const { name, path, shows } of picturesOf(deployment)) {
      await page.goto(`${path}?organization=${org}`)
      await page.getByText(shows).first().waitFor()
      await settle(page)
      for (const theme of pictureThemes) {
        await switchTheme(page, theme)
        await settle(page)
        writeFileSync(join(picturesFolder, `${name}-${theme}.webp`), await takePicture(page))
      }
      console.log(name)
    }
  } finally {
    await browser.close()
    await cloud.end()
  }
}

async function deployExample(cloud: TestCloud): Promise<number> {
  await cloud.setRpcUrl()
  const id = await deploy(cloud, { slot: 'v1', tag: 'production' })
  await waitForDeployment(cloud, id)
  const expected = await cloud.devnet.chain.countTransfers()
  const endpoint = cloud.endpointOf('erc20-transfers@v1')
  await until(
    async () => (await totalTransfers(endpoint).catch(() => null)) === expected,
    'all transfers are indexed',
    120_000,
  )
  return id
}

/** Waits until nothing is loading. A page that follows its log continues to load. */
async function settle(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle', { timeout: 8000 }).catch(() => null)
  await page.waitForFunction("document.querySelectorAll('.skeleton').length === 0", undefined, { timeout: 8000 })
  await page.evaluate('document.fonts.ready')
}

/** Takes a picture as WebP, which Playwright does not offer: a third of the size of a PNG. */
async function takePicture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page)
  try {
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality })
    return Buffer.from(data, 'base64')
  } finally {
    await session.detach()
  }
}
