import { QueryView } from '../../../components/QueryView.tsx'
import { CodeView } from './CodeView.tsx'
import { prefetchFiles, useVersionFiles } from './files.ts'

export const prefetch = prefetchFiles

/** The source of the manifest, or the parsed manifest if there is no source (spec 2.9). */
export default function ManifestTab() {
  return (
    <QueryView query={useVersionFiles()} what="The manifest">
      {({ manifest: { raw, current } }) =>
        raw === '' ? (
          <CodeView name="squid.json" code={JSON.stringify(current, null, 2)} language="json" />
        ) : (
          <CodeView name="squid.yaml" code={raw.trimEnd()} language="yaml" />
        )
      }
    </QueryView>
  )
}
