import { useState } from 'react'
import { Card } from '../../ui/Card.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { Estimate } from './Estimate.tsx'
import { ManifestField } from './ManifestField.tsx'
import { initialShape, manifestOfShape } from './profile-manifest.ts'
import { ShapeFields } from './ShapeFields.tsx'

/** Estimates the cost of a squid before its deployment, from its manifest or from the profiles and numbers of its programs. */
export default function EstimateCard({ code }: { code: string }) {
  const [shape, setShape] = useState(initialShape)
  const [manifest, setManifest] = useState('')
  const byProfiles = (
    <div className="flex flex-col gap-4">
      <ShapeFields shape={shape} onChange={setShape} />
      <Estimate code={code} manifest={manifestOfShape(shape)} />
    </div>
  )
  const byManifest = (
    <div className="flex flex-col gap-4">
      <ManifestField manifest={manifest} onChange={setManifest} />
      {manifest.trim() !== '' && <Estimate code={code} manifest={manifest} />}
    </div>
  )
  return (
    <Card title="Cost estimate">
      <div className="px-3.5 pt-1 pb-3.5">
        <Tabs
          label="Estimate"
          tabs={[
            { id: 'profiles', label: 'By profile', content: byProfiles },
            { id: 'manifest', label: 'From squid.yaml', content: byManifest },
          ]}
        />
      </div>
    </Card>
  )
}
