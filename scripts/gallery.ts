import { parseArgs } from 'node:util'
import { openBrowserForScreenshots } from '../e2e/support/browser.ts'
import { comparisonObstacle, differencesFolder, pictureDifferences, writePictures } from '../e2e/support/pictures.ts'
import { ensureGallery } from './console-build.ts'
import { requirePackages } from './debian-packages.ts'

/** `npm run gallery`: compares the parts of the console with their baseline pictures. With `--write`, replaces the baselines. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
  await requirePackages(['chromium'])
  await ensureGallery()
  const browser = await openBrowserForScreenshots()
  try {
    if (values.write) return console.log(`Wrote ${await writePictures(browser)} pictures.`)
    const obstacle = comparisonObstacle(browser)
    if (obstacle !== null) return console.log(`Not compared: ${obstacle}.`)
    const lines = await pictureDifferences(browser)
    for (const line of lines) console.log(line)
    if (lines.length === 0) return console.log('No picture differs.')
    console.log(`The pictures that differ are in ${differencesFolder}. To accept them: npm run gallery -- --write`)
    process.exitCode = 1
  } finally {
    await browser.close()
  }
}

await main()
