import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pixelmatch from 'pixelmatch'
import type { Browser, Locator } from 'playwright-core'
import { PNG } from 'pngjs'
import { root } from '../../scripts/root.ts'
import { galleryWidths, openGallery, overlaysOf, sectionsOf, setAppearance } from './gallery.ts'

/** The baseline pictures of the gallery, and a file with the version of Chromium that took them. */
const folder = join(root, 'console/gallery/pictures')
const browserFile = join(folder, 'chromium.txt')
/** The folder that receives each picture that differs from its baseline, and a second picture in which the differences are marked. */
export const differencesFolder = join(root, 'node_modules/.cache/gallery-differences')

/**
 * The number of pixels that may differ by more than `colour`, a share of the perceived distance between black and white. Differences in
 * the smoothing of edges do not count. A border, a word or an icon in another colour exceeds this tolerance.
 */
export const tolerance = { pixels: 30, colour: 0.02 }

/** Time limit for a part to look like its baseline. */
const settleMs = 20_000

const majorVersion = (browser: Browser): string => browser.version().replace(/\..*$/, '')

/** Returns why pictures of this browser cannot be compared with the baselines; null if they can. Versions of Chromium draw text differently. */
export function comparisonObstacle(browser: Browser): string | null {
  const baseline = readFileSync(browserFile, 'utf8').trim()
  const present = majorVersion(browser)
  if (baseline === present) return null
  return `Chromium ${baseline} took the pictures of the gallery; this is ${present}. To take them again: npm run gallery -- --write`
}

/** The part of the gallery that a picture shows. */
type PictureSubject = { file: string; element: Locator }

/** Overlays do not depend on the width. */
const appearances = [
  { theme: 'light', width: galleryWidths[0], hasOverlays: false },
  { theme: 'light', width: galleryWidths[1], hasOverlays: true },
  { theme: 'dark', width: galleryWidths[0], hasOverlays: false },
  { theme: 'dark', width: galleryWidths[1], hasOverlays: true },
] as const

/** Shows each part of the gallery in each appearance, and calls `take` for it. */
async function forEachPicture(browser: Browser, take: (subject: PictureSubject) => Promise<void>): Promise<void> {
  const page = await openGallery(browser)
  for (const { theme, width, hasOverlays } of appearances) {
    await setAppearance(page, theme, width)
    for (const { name, show, hide } of [...(await sectionsOf(page)), ...(hasOverlays ? overlaysOf(page) : [])]) {
      await take({ file: `${name}-${theme}-${width}.png`, element: await show() })
      await hide()
    }
  }
  await page.context().close()
}

const takePicture = (element: Locator): Promise<Buffer> => element.screenshot({ animations: 'disabled' })

/** Takes pictures until two in a row are equal, and returns the last. */
async function takeSettledPicture(element: Locator): Promise<Buffer> {
  let last = await takePicture(element)
  for (;;) {
    await element.page().waitForTimeout(500)
    const next = await takePicture(element)
    if (next.equals(last)) return next
    last = next
  }
}

/** Replaces the baseline pictures. Returns their number. */
export async function writePictures(browser: Browser): Promise<number> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await forEachPicture(browser, async ({ file, element }) =>
    writeFileSync(
      join(folder, file),
      PNG.sync.write(PNG.sync.read(await takeSettledPicture(element)), { deflateLevel: 9 }),
    ),
  )
  writeFileSync(browserFile, `${majorVersion(browser)}\n`)
  return globSync('*.png', { cwd: folder }).length
}

/** Null: the picture looks like its baseline. */
type Comparison = { problem: string; differences?: PNG } | null

function compare(baseline: PNG, picture: PNG): Comparison {
  const size = ({ width, height }: PNG) => `${width} × ${height} px`
  if (size(baseline) !== size(picture)) return { problem: `is ${size(picture)} instead of ${size(baseline)}` }
  const differences = new PNG({ width: baseline.width, height: baseline.height })
  const count = pixelmatch(baseline.data, picture.data, differences.data, baseline.width, baseline.height, {
    threshold: tolerance.colour,
  })
  return count > tolerance.pixels ? { problem: `differs in ${count} pixels`, differences } : null
}

/** Compares the gallery with the baseline pictures. Returns one line for each picture that differs, has no baseline, or no longer shows a part of the gallery. */
export async function pictureDifferences(browser: Browser): Promise<string[]> {
  rmSync(differencesFolder, { recursive: true, force: true })
  const unusedBaselines = new Set(globSync('*.png', { cwd: folder }))
  const lines: string[] = []
  await forEachPicture(browser, async ({ file, element }) => {
    unusedBaselines.delete(file)
    if (!existsSync(join(folder, file))) {
      lines.push(`${file} does not exist`)
      return
    }
    const baseline = PNG.sync.read(readFileSync(join(folder, file)))
    let picture = PNG.sync.read(await takePicture(element))
    let result = compare(baseline, picture)
    // After three differences, each further part is compared only once more, instead of until the time limit.
    const untilMs = Date.now() + (lines.length < 3 ? settleMs : 0)
    for (let isFirst = true; result && (isFirst || Date.now() < untilMs); isFirst = false) {
      picture = PNG.sync.read(await takeSettledPicture(element))
      result = compare(baseline, picture)
    }
    if (!result) return
    lines.push(`${file} ${result.problem}`)
    mkdirSync(differencesFolder, { recursive: true })
    writeFileSync(join(differencesFolder, file), PNG.sync.write(picture))
    if (result.differences)
      writeFileSync(join(differencesFolder, `differences-${file}`), PNG.sync.write(result.differences))
  })
  return [...lines, ...[...unusedBaselines].map((file) => `${file} shows no part of the gallery`)]
}
