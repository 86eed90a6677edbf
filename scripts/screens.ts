import { parseArgs } from 'node:util'
import { newUser, openBrowser } from '../e2e/support/browser.ts'
import { startShoal } from '../e2e/support/shoal.ts'
import { ensureConsole } from './console-build.ts'
import { requirePackages } from './debian-packages.ts'
import { withProgress } from './progress.ts'
import { photographDocumentation } from './screens/documentation.ts'
import { createData } from './screens/data.ts'
import { screens } from './screens/pages.ts'
import { photograph, states } from './screens/photograph.ts'

/**
 * Photographs every page of the console in every state, width and theme: `npm run screens -- FOLDER [--only NAME]…`. With
 * `--documentation`, takes the pictures of the documentation instead.
 */
async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { only: { type: 'string', multiple: true }, documentation: { type: 'boolean' } },
  })
  if (values.documentation) {
    await requirePackages(['chromium'])
    await ensureConsole()
    return await photographDocumentation()
  }
  const [folder] = positionals
  if (!folder) throw new Error('Usage: npm run screens -- FOLDER [--only NAME]… | --documentation')
  await requirePackages(['chromium'])
  await ensureConsole()
  const shoal = await startShoal({ SHOAL_RUNTIME: 'sim', SHOAL_OUTBOX: 'true' })
  const browser = await openBrowser()
  try {
    const session = await withProgress('Creating squids', () => createData(browser, shoal))
    const guest = await newUser(browser, shoal)
    const shown = screens(session).filter(
      ({ name }) => values.only === undefined || values.only.some((start) => name.startsWith(start)),
    )
    for (const screen of shown) {
      const context = screen.isGuest ? guest : session.context
      for (const state of screen.isGuest ? (['full'] as const) : states)
        for (const problem of await photograph(context, screen, state, folder)) console.error(problem)
      console.log(screen.name)
    }
  } finally {
    await browser.close()
    await shoal.end()
  }
}

await main()
