import { useVersion } from '../use-version.ts'
import { CodeView } from './CodeView.tsx'

/** The source of the manifest, or the parsed manifest if there is no source (spec 2.9). */
export default function ManifestTab() {
  const { raw, current } = useVersion().manifest
  if (raw !== '') return <CodeView name="squid.yaml" code={raw.trimEnd()} language="yaml" />
  return <CodeView name="squid.json" code={JSON.stringify(current, null, 2)} language="json" />
}
