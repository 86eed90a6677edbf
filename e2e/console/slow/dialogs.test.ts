import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectToBrowser, consoleShoal } from '../../support/console-shoal.ts'
import { signInAs } from '../../support/people.ts'
import { deploySimulated } from '../../support/simulated-squid.ts'

const code = 'dialog-labs'
const email = 'dina@dialogs.dev'
const shoal = consoleShoal()
let browser: Browser
let page: Page

beforeAll(async () => {
  browser = await connectToBrowser()
  const person = await signInAs(browser, shoal, email)
  page = person.page
  await person.api.orgs.create({ body: { code, name: 'Dialog Labs', email } })
  await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  await deploySimulated({ ...person, shoal, org: code }, { name: 'transfers', slot: 'v1' })
})

afterAll(() => browser?.close())

type Footer = [submit: string, path: string, open: () => Promise<void>]

const version = '/squids/transfers/v1'
const fromMenu = (item: string) => async () => {
  await page.getByRole('button', { name: 'Actions for transfers@v1' }).click()
  await page.getByRole('menuitem', { name: item }).click()
}
const clickButton = (name: string) => () => page.getByRole('button', { name }).first().click()

test.each<Footer>([
  ['Add tag', version, clickButton('Add tag')],
  ['Hibernate', version, fromMenu('Hibernate')],
  ['Roll back', version, fromMenu('Roll back…')],
  ['Invite', '/settings', clickButton('Invite user')],
  ['Publish', '/settings/status-page', clickButton('New incident')],
])(
  'the last button of its dialog is %s, at the right and below the content, without a line above',
  async (submit, path, openDialog) => {
    await page.goto(`${path}?organization=${code}`)
    await openDialog()
    const dialog = page.getByRole('dialog').or(page.getByRole('alertdialog'))
    const button = dialog.getByRole('button', { name: submit, exact: true })
    await button.waitFor()
    // The dialog fades in, and its content may load later.
    await expect.poll(() => distancesPx()).toEqual({ right: 20, bottom: 20, lines: 0 })
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    async function distancesPx() {
      const outer = await dialog.boundingBox()
      const inner = await button.boundingBox()
      const lines = await button.evaluate((element) => {
        let count = 0
        const view = element.ownerDocument.defaultView
        for (let at = element.parentElement; at && !at.role?.includes('dialog'); at = at.parentElement)
          if (view?.getComputedStyle(at).borderTopWidth !== '0px') count += 1
        return count
      })
      if (!outer || !inner) return null
      const right = Math.round(outer.x + outer.width - inner.x - inner.width)
      return { right, bottom: Math.round(outer.y + outer.height - inner.y - inner.height), lines }
    }
  },
)

test.each<[focused: string, path: string, open: () => Promise<void>]>([
  ['Cancel', '/squids', fromMenu('Hibernate')],
  ['Type transfers@v1 to confirm', '/squids', fromMenu('Delete')],
  ['Tag', version, clickButton('Add tag')],
  ['Cancel', '/squids', fromMenu('Roll back…')],
  ['Email', '/settings', clickButton('Invite user')],
  ['Title', '/settings/status-page', clickButton('New incident')],
  ['Webhook', '/monitoring/alerts/channels', clickButton('Add channel')],
])('its first field or its safest button, %s, has the focus in a dialog on %s', async (name, path, openDialog) => {
  await page.goto(`${path}?organization=${code}`)
  await openDialog()
  const dialog = page.getByRole('dialog').or(page.getByRole('alertdialog'))
  const control = dialog.getByLabel(name).or(dialog.getByRole('button', { name, exact: true }))
  await expect.poll(() => control.and(page.locator(':focus')).count()).toBe(1)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
})
