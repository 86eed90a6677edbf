import type { Page } from 'playwright-core'
import { compare } from '../../bench/support/compare.ts'
import { documentOf, serveFloor } from './floor.ts'
import { idle, paintedMs, type Change } from './painted.ts'

const rounds = 9

/** What a change replaces: the rows of the table, the page without its frame, or the elements above the page and the theme. */
type Part = 'rows' | 'main' | 'overlays'

export type Interaction = Change & {
  name: string
  part: Part
  /** Brings the page into the state before the change. */
  prepare?: (page: Page) => Promise<unknown>
  /** Takes the change back. */
  undo: (page: Page) => Promise<unknown>
}

const containers = { rows: 'main tbody', main: 'main' }

/** The changed part of the document, as HTML. The elements above the page are the children of the body besides the app. */
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

/** An expression that makes the same change of the document without a framework. */
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

/** Measures a change of the page over the same change of a static copy of it in `floor`. */
export async function overFloor(
  page: Page,
  floor: Page,
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
  // Loads the code, and records the document before and after the change.
  await run()
  await prepare?.(page)
  await idle(page)
  const before = await stateOf(page, part)
  const html = await documentOf(page)
  await paintedMs(page, change)
  await idle(page)
  const after = await stateOf(page, part)
  await undo(page)

  const server = await serveFloor(html)
  try {
    await floor.goto(server.url)
    const runPlain = async () => {
      await floor.bringToFront()
      const ms = await paintedMs(floor, { start: apply(after, part), isDone: 'true' })
      await floor.evaluate(apply(before, part))
      await idle(floor)
      await page.bringToFront()
      return ms
    }
    await runPlain()
    return (await compare(rounds, run, runPlain)).ratio
  } finally {
    await server.end()
  }
}
