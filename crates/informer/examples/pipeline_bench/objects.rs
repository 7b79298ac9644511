//! Pods as an API server sends them, with two fifths of managedFields.

/// One Pod as JSON, or its metadata only.
pub(crate) fn object(i: usize, version: u64, metadata_only: bool) -> String {
    let metadata = metadata(i, version);
    if metadata_only {
        return format!(
            r#"{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{metadata}}}"#
        );
    }
    format!(r#"{{"metadata":{metadata},"spec":{},"status":{}}}"#, spec(i, version), status(i))
}

fn metadata(i: usize, version: u64) -> String {
    let fields: Vec<String> = (0..38)
        .map(|f| format!(r#""f:field{f}":{{".":{{}},"f:name":{{}},"k:{{\"type\":\"T{f}\"}}":{{}}}}"#))
        .collect();
    let fields = fields.join(",");
    format!(
        r#"{{"name":"web-5d9c7b8f6d-{i:06}","generateName":"web-5d9c7b8f6d-","namespace":"team-{:02}","uid":"ebbfc665-3393-49c4-93f5-{i:012}","resourceVersion":"{version}","creationTimestamp":"2026-11-29T15:12:16Z","labels":{{"app":"web-{}","pod-template-hash":"5d9c7b8f6d","tier":"front"}},"annotations":{{"example.dev/checksum":"0f343b0931126a20f133d67c2b018a3b","example.dev/revision":"{i}"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d9c7b8f6d","uid":"27a8cac4-2f87-4b2a-8da4-8a510cf0e1a5","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-29T15:12:16Z","fieldsType":"FieldsV1","fieldsV1":{{{fields}}}}},{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-29T15:12:16Z","fieldsType":"FieldsV1","fieldsV1":{{"f:status":{{}}}},"subresource":"status"}}]}}"#,
        i % 100,
        i % 400,
    )
}

fn spec(i: usize, version: u64) -> String {
    let container = |name: &str| {
        let env: Vec<String> = (0..5)
            .map(|e| format!(r#"{{"name":"VARIABLE_{e}","value":"value-{e}-{i}"}}"#))
            .chain([r#"{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}}"#.to_owned()])
            .collect();
        format!(
            r#"{{"name":"{name}","image":"registry.example/team/{name}:1.2.{version}","args":["--port=8080","--level=info"],"ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"env":[{}],"resources":{{"limits":{{"cpu":"1","memory":"512Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"data","mountPath":"/data"}},{{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":"http","scheme":"HTTP"}},"initialDelaySeconds":5,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{{"runAsNonRoot":true,"allowPrivilegeEscalation":false}}}}"#,
            env.join(",")
        )
    };
    format!(
        r#"{{"volumes":[{{"name":"data","emptyDir":{{}}}},{{"name":"kube-api-access","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}}],"defaultMode":420}}}}],"containers":[{},{}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"web","serviceAccount":"web","nodeName":"node-{}","securityContext":{{}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}}"#,
        container("app"),
        container("proxy"),
        i % 300,
    )
}

fn status(i: usize) -> String {
    let conditions: Vec<String> = ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .iter()
        .map(|kind| {
            format!(
                r#"{{"type":"{kind}","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-29T15:12:16Z"}}"#
            )
        })
        .collect();
    let statuses: Vec<String> = ["app", "proxy"]
        .iter()
        .map(|name| {
            format!(
                r#"{{"name":"{name}","state":{{"running":{{"startedAt":"2026-11-29T15:12:18Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,"image":"registry.example/team/{name}:1.2.3","imageID":"registry.example/team/{name}@sha256:0f343b0931126a20f133d67c2b018a3b0f343b0931126a20f133d67c2b018a3b","containerID":"containerd://{i:064}","started":true}}"#
            )
        })
        .collect();
    format!(
        r#"{{"phase":"Running","conditions":[{}],"hostIP":"10.1.0.{}","podIP":"10.0.{}.{}","podIPs":[{{"ip":"10.0.{}.{}"}}],"startTime":"2026-11-29T15:12:16Z","containerStatuses":[{}],"qosClass":"Burstable"}}"#,
        conditions.join(","),
        i % 250,
        i / 250 % 250,
        i % 250,
        i / 250 % 250,
        i % 250,
        statuses.join(","),
    )
}
