import { expect, test } from 'vitest'
import { parseCadvisor } from './cadvisor.ts'

const id = '15b4b4b61cc0b6d7d8910d5955f984faac018034654253429a59aedaa823fe4d'
const uid = 'f7d97e34-f935-463b-a1a5-1bc8d6e752b6'

const line = (metric: string, cgroup: string, value: string, more = '', time = ' 1795446435558') =>
  `container_${metric}{container="main",${more}id="${cgroup}",image="x",name="",namespace="t1",pod="a"} ${value}${time}`

test.each([
  ['cgroupfs', `/n1/kubepods/burstable/pod${uid}`, `/${id}`],
  [
    'systemd',
    `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${uid.replaceAll('-', '_')}.slice`,
    `/cri-containerd-${id}.scope`,
  ],
])('reads the cgroups of pods and containers with names from %s', async (_, pod, container) => {
  const readings = await parseCadvisor([
    '# TYPE container_cpu_usage_seconds_total counter',
    line('cpu_usage_seconds_total', '/kubepods', '7', 'cpu="total",'),
    line('cpu_usage_seconds_total', pod, '0.5', 'cpu="total",'),
    line('cpu_usage_seconds_total', `${pod}${container}`, '0.25', 'cpu="total",', ' 1795446435000'),
    line('cpu_usage_seconds_total', `${pod}${container}`, '0.1', 'cpu="cpu00",'),
    line('cpu_cfs_throttled_seconds_total', pod, '0.088827097'),
    line('memory_working_set_bytes', `${pod}${container}`, '2.781184e+06'),
    line('network_receive_bytes_total', pod, '446', 'interface="eth0",'),
  ])
  expect(Object.fromEntries(readings)).toEqual({
    [uid]: { atMs: 1795446435558, cpuSeconds: 0.5, throttledSeconds: 0.088827097, memoryBytes: null },
    [id]: { atMs: 1795446435000, cpuSeconds: 0.25, throttledSeconds: null, memoryBytes: 2781184 },
  })
})
