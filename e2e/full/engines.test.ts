import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Engine } from '../support/engines/engine.ts'
import { missingForFirefox, startFirefox } from '../support/engines/firefox.ts'
import { missingForWebKit, startWebKit } from '../support/engines/webkit.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { deploySimulated } from '../support/simulated-squid.ts'
import { until } from '../support/until.ts'

// The console's main workflow in the engines of Firefox and Safari. All other tests of the console use Chromium.

const code = 'engine-labs'
const email = 'mira@engines.dev'
const password = 'a password of tests'
const engines = [
  { engine: 'Firefox', missing: missingForFirefox(), start: startFirefox },
  { engine: 'WebKitGTK', missing: missingForWebKit(), start: startWebKit },
]
for (const { engine, missing } of engines)
  if (missing) console.log(`The test of the console in ${engine} is skipped. ${missing}`)

let shoal: Shoal
let token: string

beforeAll(async () => {
  if (engines.every(({ missing }) => missing)) return
  shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
  await shoal.cli('user', 'add', '--email', email, '--name', 'Mira Engines', '--password-stdin', { input: password })
  ;({ token } = await shoal.as('').auth.signIn({ body: { email, password } }))
  const api = shoal.as(token)
  const onboardingForm = { occupation: 'Analyst', source: 'Google', usage: 'DeFi' }
  await api.user.completeOnboarding({ body: { policyAccepted: true, onboardingForm } })
  await api.orgs.create({ body: { code, name: 'Engine Labs', email } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  const processors = {
    eth: {
      print: ['{"level":2,"msg":"a line of the processor"}'],
      sync: { fromBlock: 0, headBlock: 900, headBlocksPerSecond: 1, blocksPerSecond: 2000 },
    },
  }
  for (const name of engines.map(({ engine }) => engine.toLowerCase()))
    await deploySimulated({ shoal, org: code, token, api }, { name, slot: 'v1', tag: 'production', processors })
})

afterAll(() => shoal?.end())

describe.each(engines.filter(({ missing }) => !missing))('the console in $engine', ({ engine, start }) => {
  test('a user signs in, finds a version, reads its logs and metrics, hibernates it and signs out', async () => {
    const errors: string[] = []
    const { name, page, close } = await startUntilEnd(start, errors)
    const squid = engine.toLowerCase()
    const version = () => shoal.as(token).squids.get({ params: { code, reference: `${squid}@v1` } })

    await page.open(`${shoal.url}/squids?organization=${code}`)
    await page.evaluate("localStorage.setItem('onboardingGuide', '100')")
    await page.type('Work email', email)
    await page.type('Password', password)
    await page.click(['button', 'Sign in'])
    await page.waitFor(['h1', 'Squids'])
    await page.waitFor([`[data-row="${squid}@v1"]`, ''])
    await page.type('Find squid', squid)
    await page.waitUntil("document.querySelectorAll('[data-row]').length === 1", 'the search finds one version')

    await page.click([`[data-row="${squid}@v1"] a`, ''])
    await page.waitFor(['h1', `${squid}@v1`])
    await page.click(['nav[aria-label=Version] a', 'Logs'])
    await page.waitUntil("document.body.innerText.includes('a line of the processor')", 'the line is shown')
    await page.click(['nav[aria-label=Version] a', 'Metrics'])
    await page.waitUntil(
      '[...document.querySelectorAll("canvas")].some(hasInk)'.replace('hasInk', hasInk),
      'a chart is drawn',
    )

    await page.click(['button[aria-haspopup]', 'Account of'])
    await page.click(['[role=menuitem]', 'Dark theme'])
    await page.waitUntil("getComputedStyle(document.documentElement).colorScheme === 'dark'", 'the theme is dark')
    await saveScreenshot(engine, page)

    await page.click(['button[aria-haspopup]', 'Actions'])
    await page.click(['[role=menuitem]', 'Hibernate'])
    await page.click(['[role=alertdialog] button', 'Hibernate'])
    await until(async () => (await version()).status === 'HIBERNATED', 'the version is hibernated')
    await page.waitUntil("document.body.innerText.includes('Hibernated')", 'the page shows the new status')

    await page.click(['button[aria-haspopup]', 'Account of'])
    await page.click(['[role=menuitem]', 'Logout'])
    await page.waitFor(['button', 'Sign in'])
    await close()
    expect(errors, name).toEqual([])
  })
})

/** A JavaScript function: whether something is drawn on the canvas. */
const hasInk = `((canvas) => {
  const { width, height } = canvas
  return width > 0 && height > 0 && canvas.getContext('2d').getImageData(0, 0, width, height).data.some((value) => value > 0)
})`

async function startUntilEnd(start: (errors: string[]) => Promise<Engine>, errors: string[]): Promise<Engine> {
  const engine = await start(errors)
  let isClosed = false
  const close = async () => {
    if (!isClosed) await engine.close()
    isClosed = true
  }
  onTestFinished(close)
  return { ...engine, close }
}

/** Saves a screenshot if SHOAL_TEST_SHOTS names a folder. */
async function saveScreenshot(name: string, page: Engine['page']): Promise<void> {
  const folder = process.env['SHOAL_TEST_SHOTS']
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `engine-${name}.png`), await page.screenshot())
}
