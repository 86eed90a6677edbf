import { parseArgs } from 'node:util'
import { openBrowser } from '../e2e/support/browser.ts'
import { startShoal } from '../e2e/support/shoal.ts'
import { ensureConsole } from './console-build.ts'
import { requirePackages } from './debian-packages.ts'
import { withProgress } from './progress.ts'
import { takeDocumentationPictures } from './screens/documentation.ts'
import { createData } from './screens/data.ts'
import { screens } from './screens/pages.ts'
import { openPersonas } from './screens/people.ts'
import { takeScreenshots } from './screens/take-screenshots.ts'
import { states } from './screens/states.ts'

/**
 * Takes screenshots of every page of the console in every state, width and theme: `npm run screens -- FOLDER [--only NAME]… [--state STATE]…`. With
 * `--documentation`, takes the pictures of the documentation instead.
 */
async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: 'string', multiple: true },
      state: { type: 'string', multiple: true },
      documentation: { type: 'boolean' },
    },
  })
  if (values.documentation) {
    await requirePackages(['chromium'])
    await ensureConsole()
    return await takeDocumentationPictures()
  }
  const [folder] = positionals
  if (!folder) throw new Error('Usage: npm run screens -- FOLDER [--only NAME]… [--state STATE]… | --documentation')
  await requirePackages(['chromium'])
  await ensureConsole()
  const shoal = await startShoal({ SHOAL_RUNTIME: 'sim', SHOAL_OUTBOX: 'true' })
  const browser = await openBrowser()
  try {
    const session = await withProgress('Creating squids', () => createData(browser, shoal))
    const contexts = await openPersonas(browser, shoal, session)
    const shown = screens(session.deployments).filter(
      ({ name }) => values.only === undefined || values.only.some((start) => name.startsWith(start)),
    )
    for (const screen of shown) {
      const { as = 'owner' } = screen
      const ofScreen = screen.states ?? (as === 'owner' ? states : (['full'] as const))
      for (const state of ofScreen.filter((name) => values.state?.includes(name) ?? true))
        for (const problem of await takeScreenshots(contexts[as], screen, state, folder)) console.error(problem)
      console.log(screen.name)
    }
  } finally {
    await browser.close()
    await shoal.end()
  }
}

await main()
