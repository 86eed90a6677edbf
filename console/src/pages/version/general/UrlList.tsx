import type { SquidUrl } from './urls.ts'
import { CopyButton } from '../../../ui/CopyButton.tsx'

/** A list of URLs, each with a copy button, and a note about them. Long URLs wrap. */
export function UrlList({ urls, note }: { urls: readonly SquidUrl[]; note?: string }) {
  return (
    <>
      <ul className="-my-1">
        {urls.map(({ url, name }) => (
          <li key={url} className="flex items-start gap-1">
            <code className="min-w-0 py-1 wrap-anywhere">{url}</code>
            <CopyButton text={url} what={name ? `URL of ${name}` : 'URL'} />
          </li>
        ))}
      </ul>
      {note && <p className="mt-1 text-sm text-ink-3">{note}</p>}
    </>
  )
}
