import { privacyUrl, termsUrl } from '../lib/installation.ts'

const linkClass = 'text-accent underline underline-offset-3'

/** Links to the terms of service and the privacy notice of this installation. */
export function TermsLink() {
  return (
    <>
      <a href={termsUrl()} target="_blank" rel="noreferrer" className={linkClass}>
        terms of service
      </a>{' '}
      and the{' '}
      <a href={privacyUrl()} target="_blank" rel="noreferrer" className={linkClass}>
        privacy notice
      </a>
    </>
  )
}
