import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { operatorPages } from './operator-pages.ts'

const docs = join(import.meta.dirname, '../../../docs')

/**
 * Returns the Markdown of a document below `docs/` as a page of the site. A link to a document that has a page becomes a link to that page;
 * a link to another file of the repository becomes its label with the path of the file. Text in code is unchanged.
 */
export const readDocument = (file: string): string => documentPage(file, readFileSync(join(docs, file), 'utf8'))

/** Returns the text of a document as a page of the site. */
export function documentPage(file: string, text: string): string {
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

function linkTo(label: string, pathInDocs: string, anchor: string): string {
  const page = operatorPages.find((candidate) => candidate.file === pathInDocs)
  if (page) return `[${label}](/operators/${page.name}${anchor})`
  // The site has its own overview instead of this document.
  if (pathInDocs === 'install/README.md') return `[${label}](/operators/${anchor})`
  if (!existsSync(join(docs, pathInDocs)))
    throw new Error(
      `A document links to ${relative('.', join(docs, pathInDocs))}, which does not exist. Correct the link.`,
    )
  const inRepository = pathInDocs.startsWith('../') ? pathInDocs.slice(3) : `docs/${pathInDocs}`
  return label.includes(inRepository) ? label : `${label} (\`${inRepository}\`)`
}

/** Applies `change` to the text between code blocks and code spans. */
function outsideCode(text: string, change: (part: string) => string): string {
  return text
    .split(/(^```[\s\S]*?^```|`[^`\n]+`)/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('')
}
