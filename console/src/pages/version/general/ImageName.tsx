import type { Squid } from '@shoal/contract'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { shortImage } from '../deployments/deployment-words.ts'

/** What the version was built to: a link where it can be fetched from, otherwise its name. */
export function ImageName({ squid: { image, links } }: { squid: Pick<Squid, 'image' | 'links'> }) {
  if (image === null) return <span className="text-ink-3">none yet</span>
  const name = <code title={image}>{shortImage(image)}</code>
  return (
    <span className="-my-1 flex items-center gap-1">
      {links.dockerImageUrl ? (
        <a href={links.dockerImageUrl} target="_blank" rel="noreferrer" className="text-accent hover:underline">
          {name}
        </a>
      ) : (
        name
      )}
      <CopyButton text={links.dockerImageUrl ?? image} what="image" />
    </span>
  )
}
