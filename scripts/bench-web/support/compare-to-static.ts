import type { Page } from 'playwright-core'
import { compare } from '../../bench/support/compare.ts'
import { documentOf, serveStaticPage } from './static-page.ts'
import { idle, paintedMs, type Change } from './painted.ts'

const rounds = 9

/** The part of the document that a change replaces: the rows of the table, the page without header and side bar, or the overlays and the theme. */
type Part = 'rows' | 'main' | 'overlays'

export type Interaction = Change & {
  name: string
  part: Part
  /** Brings the page into the state before the change. */
  prepare?: (page: Page) => Promise<unknown>
  /** Reverts the change. */
  undo: (page: Page) => Promise<unknown>
}

const containers = { rows: 'main tbody', main: 'main' }

/** Returns the part of the document as HTML, and the theme. Overlays are the children of the body besides the app. */
const stateOf = (page: Page, part: Part) =>
  page.evaluate<{ html: string; theme: string }>(`(() => {
    const html = ${
      part === 'overlays'
        ? `[...document.body.children].filter((element) => element.id !== 'root').map((element) => element.outerHTML).join('')`
        : `document.querySelector('${containers[part]}').innerHTML`
    }
    return { html, theme: document.documentElement.dataset.theme }
  })()`)

type State = Awaited<ReturnType<typeof stateOf>>

/** Returns an expression that brings a document into this state without a framework. */
const apply = ({ html, theme }: State, part: Part) => `(() => {
  const html = ${JSON.stringify(html)}
  if (document.documentElement.dataset.theme !== '${theme}') document.documentElement.dataset.theme = '${theme}'
  ${
    part === 'overlays'
      ? `for (const element of [...document.body.children]) if (element.id !== 'root') element.remove()
         document.body.insertAdjacentHTML('beforeend', html)`
      : `document.querySelector('${containers[part]}').innerHTML = html`
  }
})()`

/** Returns the time of a change of the page, divided by that of the same change of a static copy in `staticPage`. */
export async function ratioToStaticPage(
  page: Page,
  staticPage: Page,
  { part, prepare, undo, ...change }: Interaction,
): Promise<number> {
  const run = async () => {
    await prepare?.(page)
    await idle(page)
    const ms = await paintedMs(page, change)
    await undo(page)
    await idle(page)
    return ms
  }
  // The first run loads the code. The next one records the document before and after the change.
  await run()
  await prepare?.(page)
  await idle(page)
  const before = await stateOf(page, part)
  const html = await documentOf(page)
  await paintedMs(page, change)
  await idle(page)
  const after = await stateOf(page, part)
  await undo(page)

  const server = await serveStaticPage(html)
  try {
    await staticPage.goto(server.url)
    const runPlain = async () => {
      await staticPage.bringToFront()
      const ms = await paintedMs(staticPage, { start: apply(after, part), isDone: 'true' })
      await staticPage.evaluate(apply(before, part))
      await idle(staticPage)
      await page.bringToFront()
      return ms
    }
    await runPlain()
    return (await compare(rounds, run, runPlain)).ratio
  } finally {
    await server.end()
  }
}
