import { termsUrl } from '../lib/installation.ts'

/** A link to the operator's terms of service, or a notice that this installation has none. */
export function TermsLink() {
  const url = termsUrl()
  if (!url) return <>terms of service (this installation has published none)</>
  return (
    <a href={url} target="_blank" rel="noreferrer" className="text-accent underline underline-offset-3">
      terms of service
    </a>
  )
}
