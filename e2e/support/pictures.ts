import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pixelmatch from 'pixelmatch'
import type { Browser, Locator } from 'playwright-core'
import { PNG } from 'pngjs'
import { root } from '../../scripts/root.ts'
import { galleryWidths, openGallery, overlaysOf, sectionsOf, setAppearance } from './gallery.ts'

/** The kept pictures of the gallery, and the version of Chromium that took them. */
const folder = join(root, 'console/gallery/pictures')
const browserFile = join(folder, 'chromium.txt')
/** Receives pictures that differ from the kept ones, each with one that marks the differences. */
export const differencesFolder = join(root, 'node_modules/.cache/gallery-differences')

/**
 * The tolerance of a picture: this many pixels may differ in colour by more than this part of the distance between black and
 * white, as perceived. Differences in the smoothing of edges are ignored. A border, a word or an icon of another colour is more.
 */
export const tolerance = { pixels: 30, colour: 0.02 }

/** How long a part may take to be drawn as it was. */
const settleMs = 20_000

const majorVersion = (browser: Browser): string => browser.version().replace(/\..*$/, '')

/** Why pictures of this browser are not comparable with the kept ones; null if they are. Versions of Chromium draw text differently. */
export function comparisonObstacle(browser: Browser): string | null {
  const kept = readFileSync(browserFile, 'utf8').trim()
  const present = majorVersion(browser)
  if (kept === present) return null
  return `The pictures of the gallery were taken by Chromium ${kept}; this is ${present}. npm run gallery -- --write takes them again`
}

type Photograph = { file: string; element: Locator }

/** Themes differ only in colours, so the dark one is photographed at one width; overlays do not depend on the width. */
const appearances = [
  { theme: 'light', width: galleryWidths[0], hasOverlays: false },
  { theme: 'light', width: galleryWidths[1], hasOverlays: true },
  { theme: 'dark', width: galleryWidths[1], hasOverlays: true },
] as const

/** Calls `take` for each part of the gallery in each appearance. */
async function forEachPicture(browser: Browser, take: (photograph: Photograph) => Promise<void>): Promise<void> {
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

const shoot = (element: Locator): Promise<Buffer> => element.screenshot({ animations: 'disabled' })

/** Waits until two pictures in a row are equal. */
async function shootSettled(element: Locator): Promise<Buffer> {
  let last = await shoot(element)
  for (;;) {
    await element.page().waitForTimeout(500)
    const next = await shoot(element)
    if (next.equals(last)) return next
    last = next
  }
}

/** Replaces the kept pictures. Returns their number. */
export async function writePictures(browser: Browser): Promise<number> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await forEachPicture(browser, async ({ file, element }) =>
    writeFileSync(join(folder, file), PNG.sync.write(PNG.sync.read(await shootSettled(element)), { deflateLevel: 9 })),
  )
  writeFileSync(browserFile, `${majorVersion(browser)}\n`)
  return globSync('*.png', { cwd: folder }).length
}

type Comparison = { problem: string; differences?: PNG } | null

function compare(kept: PNG, shot: PNG): Comparison {
  const size = ({ width, height }: PNG) => `${width} × ${height} px`
  if (size(kept) !== size(shot)) return { problem: `is ${size(shot)} instead of ${size(kept)}` }
  const differences = new PNG({ width: kept.width, height: kept.height })
  const count = pixelmatch(kept.data, shot.data, differences.data, kept.width, kept.height, {
    threshold: tolerance.colour,
  })
  return count > tolerance.pixels ? { problem: `differs in ${count} pixels`, differences } : null
}

/** Compares the gallery with the kept pictures. Returns one line for each that differs or is missing, and for each kept one without a part. */
export async function pictureDifferences(browser: Browser): Promise<string[]> {
  rmSync(differencesFolder, { recursive: true, force: true })
  const unseen = new Set(globSync('*.png', { cwd: folder }))
  const lines: string[] = []
  await forEachPicture(browser, async ({ file, element }) => {
    unseen.delete(file)
    if (!existsSync(join(folder, file))) {
      lines.push(`${file} is missing`)
      return
    }
    const kept = PNG.sync.read(readFileSync(join(folder, file)))
    let shot = PNG.sync.read(await shoot(element))
    let result = compare(kept, shot)
    // When several pictures differ, the rest is not waited for longer than it moves.
    const untilMs = Date.now() + (lines.length < 3 ? settleMs : 0)
    for (let isFirst = true; result && (isFirst || Date.now() < untilMs); isFirst = false) {
      shot = PNG.sync.read(await shootSettled(element))
      result = compare(kept, shot)
    }
    if (!result) return
    lines.push(`${file} ${result.problem}`)
    mkdirSync(differencesFolder, { recursive: true })
    writeFileSync(join(differencesFolder, file), PNG.sync.write(shot))
    if (result.differences)
      writeFileSync(join(differencesFolder, `differences-${file}`), PNG.sync.write(result.differences))
  })
  return [...lines, ...[...unseen].map((file) => `${file} shows no part of the gallery`)]
}
