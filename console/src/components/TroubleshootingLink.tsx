import { troubleshootingUrl } from '@shoal/contract'

type Kind = Parameters<typeof troubleshootingUrl>[0]

/** A link to the paragraph of the documentation about a kind of alert or failure. */
export function TroubleshootingLink({ kind }: { kind: Kind }) {
  return (
    <a
      href={troubleshootingUrl(kind)}
      target="_blank"
      rel="noreferrer"
      className="text-accent underline underline-offset-3"
    >
      Causes and remedies
    </a>
  )
}
