import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { operatorPages } from './operator-pages.ts'

const docs = join(import.meta.dirname, '../../../docs')

/**
 * Returns the Markdown of a document below `docs/` as a page of the site. A link to a document that has a page becomes a link to that page;
 * a link to another file of the repository becomes the path of the file. Text in code is unchanged.
 */
export function readDocument(file: string): string {
  const text = readFileSync(join(docs, file), 'utf8')
  return outsideCode(text, (part) =>
    part
      .replaceAll(
        /\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]+)?\)/g,
        (_, label: string, target: string, anchor = '') => linkTo(label, join(dirname(file), target), anchor as string),
      )
      // In the pages of VitePress, a tag such as <token> would be an element.
      .replaceAll(/<(?=[a-z])/gi, '&lt;')
      .replaceAll('{{', '&#123;&#123;'),
  )
}

function linkTo(label: string, path: string, anchor: string): string {
  const file = path.replace(/^\.\.\//, '')
  const page = operatorPages.find((candidate) => candidate.file === path)
  if (page) return `[${label}](/operators/${page.name}${anchor})`
  if (path === 'install/README.md') return `[${label}](/operators/)`
  if (!existsSync(join(docs, path)))
    throw new Error(`A document links to ${relative('.', join(docs, path))}, which does not exist. Correct the link.`)
  const inRepository = path.startsWith('../') ? file : `docs/${path}`
  return label.includes(inRepository) ? label : `${label} (\`${inRepository}\`)`
}

/** Applies `change` to the text between code blocks and code spans. */
function outsideCode(text: string, change: (part: string) => string): string {
  return text
    .split(/(^```[\s\S]*?^```|`[^`\n]+`)/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('')
}
