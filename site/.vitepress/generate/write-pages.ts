import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { areaPage } from './area-page.ts'
import { apiAreas } from './areas.ts'
import { readDocument } from './document.ts'
import { operatorPages } from './operator-pages.ts'

/** Writes the generated pages to the folder `pages`: those about the API, and the documents for operators. */
export function writePages(pages: string): void {
  for (const { name } of apiAreas) write(join(pages, 'api', `${name}.md`), areaPage(name))
  for (const { name, file } of operatorPages) write(join(pages, 'operators', `${name}.md`), readDocument(file))
}

/** Writes a file only if its content has changed, so that a development server does not reload without a reason. */
function write(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
}
