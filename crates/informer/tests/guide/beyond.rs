//! The rest of the page, one function a section.

use std::sync::Arc;
use std::time::Duration;

use informer::{
    Action, BoxError, Controller, ControllerBuilder, ControllerHandle, ObjectKey, SharedInformer,
    TerminalError, finalizer,
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Client;
use kube::api::{Api, PostParams};

use crate::resource::Website;

/// Websites are looked up by what they mention.
pub fn with_settings(
    websites: &SharedInformer<Website>,
    config_maps: &SharedInformer<ConfigMap>,
) -> ControllerBuilder<Website> {
    let by_image = websites.add_index("image", |website: &Website| [website.spec.image.clone()]);
    Controller::builder("website", websites).watches(config_maps, move |config_map| {
        // a ConfigMap named like an image concerns every Website with that image
        by_image.keys(config_map.key.name())
    })
}

pub async fn results(website: &Website) -> Result<Action, BoxError> {
    if website.spec.replicas < 0 {
        let problem = "replicas must not be negative";
        return Err(TerminalError::new(problem).into()); // not tried again before the Website changes
    }
    certificate_of(website).await?; // tried again, with back-off
    Ok(Action::RequeueAfter(Duration::from_secs(3600))) // and once an hour in any case
}

async fn certificate_of(_website: &Website) -> Result<(), BoxError> {
    Ok(())
}

pub async fn with_dns(client: Client, website: Arc<Website>) -> Result<Action, BoxError> {
    let namespace = website.metadata.namespace.clone().unwrap_or_default();
    let api = Api::<Website>::namespaced(client, &namespace);
    let publish = |website: Arc<Website>| async move { dns("publish", &website) };
    let withdraw = |website: Arc<Website>| async move { dns("withdraw", &website) };
    finalizer(&api, "example.informer.dev/dns", website, publish, withdraw).await?;
    Ok(Action::Done)
}

fn dns(_what: &str, _website: &Website) -> Result<(), BoxError> {
    Ok(())
}

pub async fn with_generated_names(
    api: Api<Pod>,
    controller: ControllerHandle,
    key: ObjectKey,
    pod: Pod,
) -> Result<Action, BoxError> {
    let expectations = controller.expectations();
    if !expectations.satisfied(&key) {
        return Ok(Action::Done); // the cache does not show yet what was created: it leads here again
    }
    expectations.expect_creations(&key, 1);
    if let Err(error) = api.create(&PostParams::default(), &pod).await {
        if matches!(error, kube::Error::Api(_)) {
            expectations.creation_failed(&key); // refused; a lost answer may have created it
        }
        return Err(error.into());
    }
    Ok(Action::Done)
}

#[cfg(test)]
mod tests {
    use informer::SharedInformerFactory;
    use informer_testserver::TestServer;
    use kube::CustomResourceExt;
    use kube::api::DeleteParams;
    use serde_json::json;

    use super::*;

    fn world() -> (TestServer, Client, Arc<Website>) {
        let server = TestServer::new();
        server.create("customresourcedefinitions", json!(Website::crd())).unwrap();
        let website = json!({"metadata": {"name": "shop"}, "spec": {"image": "shop", "replicas": 1}});
        let website = serde_json::from_value(server.create("websites", website).unwrap()).unwrap();
        let client = Client::new(server.clone(), "default");
        (server, client, Arc::new(website))
    }

    #[tokio::test(start_paused = true)]
    async fn a_config_map_leads_to_the_websites_with_its_image() {
        let (server, client, _) = world();
        let factory = SharedInformerFactory::new(client);
        let (websites, config_maps) = (factory.informer().unwrap(), factory.informer().unwrap());
        let (told, mut reconciled) = tokio::sync::mpsc::unbounded_channel();
        let controller = with_settings(&websites, &config_maps)
            .build(move |key| {
                let _ = told.send(key);
                std::future::ready(Ok::<_, BoxError>(Action::Done))
            })
            .unwrap();
        factory.start();
        let running = tokio::spawn(async move { controller.run(Default::default()).await });
        let shop = Some(ObjectKey::new("default", "shop"));
        assert_eq!(reconciled.recv().await, shop);
        server.create("configmaps", json!({"metadata": {"name": "other"}})).unwrap();
        server.create("configmaps", json!({"metadata": {"name": "shop"}})).unwrap();
        assert_eq!(reconciled.recv().await, shop);
        running.abort();
    }

    #[tokio::test]
    async fn what_cannot_be_is_not_tried_again() {
        let (_, _, website) = world();
        assert_eq!(results(&website).await.unwrap(), Action::RequeueAfter(Duration::from_secs(3600)));
        let mut negative = Website::clone(&website);
        negative.spec.replicas = -1;
        assert!(results(&negative).await.unwrap_err().is::<TerminalError>());
    }

    #[tokio::test]
    async fn the_record_is_withdrawn_before_the_website_goes() {
        let (server, client, website) = world();
        with_dns(client.clone(), website).await.unwrap();
        let api = Api::<Website>::default_namespaced(client.clone());
        api.delete("shop", &DeleteParams::default()).await.unwrap();
        let leaving = api.get("shop").await.unwrap();
        with_dns(client, Arc::new(leaving)).await.unwrap();
        assert_eq!(server.count("websites"), 0);
    }

    #[tokio::test]
    async fn nothing_is_created_twice_while_the_cache_lags() {
        let (server, client, _) = world();
        let websites = SharedInformerFactory::new(client.clone()).informer::<Website>().unwrap();
        let controller = Controller::builder("website", &websites).handle();
        let key = ObjectKey::new("default", "shop");
        let pod: Pod = serde_json::from_value(json!({"metadata": {"generateName": "shop-"},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}))
        .unwrap();
        for _ in 0..2 {
            let api = Api::<Pod>::default_namespaced(client.clone());
            with_generated_names(api, controller.clone(), key.clone(), pod.clone()).await.unwrap();
        }
        assert_eq!(server.count("pods"), 1);
    }
}
